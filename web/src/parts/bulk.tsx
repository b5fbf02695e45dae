import type { JobLine } from "../api/types";
export function BulkBar(_: {
  jobs: JobLine[];
  q: string;
  all: boolean;
  total: { text: string; number: number };
  waiting: number;
  onAll: () => void;
  onClear: () => void;
  open: string | null;
  onOpen: (x: string | null) => void;
}) {
  return null;
}
