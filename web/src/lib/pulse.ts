/* One clock for all ages on the page; it stands still while nobody looks. */
import { useEffect, useState } from "react";

export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, every);
    return () => window.clearInterval(timer);
  }, [every]);
  return now;
}
