/* The shapes of states and things, 16 by 16; a state is always shape, word and colour. */
import type { ReactNode } from "react";

export const shapes = {
  arrow: (
    <>
      <path d="M2.5 8h11M9.5 4l4 4-4 4" />
    </>
  ),
  audit: (
    <>
      <path d="M3 1.800h7.500L13 4.300v9.900H3zM5.5 6.500h5M5.5 9h5M5.5 11.500h3" />
    </>
  ),
  awaiting_input: (
    <>
      <path d="M2 2.8h12v8.4H7.6L4.6 14v-2.8H2z" />
      <path d="M6.5 5.8A1.5 1.5 0 1 1 8.4 7.2c-.3.1-.4.3-.4.6" />
      <circle cx="8" cy="9.4" r=".5" fill="currentColor" />
    </>
  ),
  awaiting_mapping: (
    <>
      <circle cx="3" cy="3.8" r="1.6" />
      <circle cx="3" cy="12.2" r="1.6" />
      <rect x="11.6" y="2.2" width="3" height="3.2" />
      <rect x="11.6" y="10.6" width="3" height="3.2" />
      <path d="M4.8 3.8c4 0 2.6 8.4 6.4 8.4M4.8 12.2c1.4 0 2-.9 2.4-2M8.8 6c.5-1.2 1.2-2.2 2.4-2.2" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M3.8 12.2 12.2 3.8" />
    </>
  ),
  cancelling: (
    <>
      <circle cx="8" cy="8" r="6.2" strokeDasharray="2.6 1.7" />
      <rect x="5.8" y="5.8" width="4.4" height="4.4" fill="currentColor" stroke="none" />
    </>
  ),
  check: (
    <>
      <path d="M3 8.5 6.5 12 13 4.5" />
    </>
  ),
  completed: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M5 8.3 7.2 10.4 11 5.9" />
    </>
  ),
  coverage: (
    <>
      <rect x="1.8" y="1.8" width="3.4" height="3.4" />
      <rect x="6.3" y="1.8" width="3.4" height="3.4" />
      <rect x="10.8" y="1.8" width="3.4" height="3.4" />
      <rect x="1.8" y="6.3" width="3.4" height="3.4" fill="currentColor" />
      <rect x="6.3" y="6.3" width="3.4" height="3.4" fill="currentColor" />
      <rect x="10.8" y="6.3" width="3.4" height="3.4" />
      <rect x="1.8" y="10.8" width="3.4" height="3.4" />
      <rect x="6.3" y="10.8" width="3.4" height="3.4" />
    </>
  ),
  down: (
    <>
      <path d="m4 6 4 4 4-4" />
    </>
  ),
  download: (
    <>
      <path d="M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.700h11" />
    </>
  ),
  error: (
    <>
      <path d="M5.3 1.600h5.400l3.7 3.700v5.400l-3.7 3.700H5.300l-3.7-3.700V5.300z" fill="currentColor" stroke="none" />
      <path d="M5.8 5.800l4.4 4.400M10.2 5.800l-4.4 4.4" stroke="var(--hole, var(--surface))" strokeWidth="1.8" />
    </>
  ),
  errors: (
    <>
      <path d="M8 1.9 14.6 13.600H1.400z" />
      <path d="M8 6.200v3.400M8 11.600v.1" />
    </>
  ),
  failed: (
    <>
      <path d="M5.3 1.600h5.400l3.7 3.700v5.400l-3.7 3.700H5.300l-3.7-3.700V5.300z" fill="currentColor" stroke="none" />
      <path d="M5.8 5.800l4.4 4.400M10.2 5.800l-4.4 4.4" stroke="var(--hole, var(--surface))" strokeWidth="1.8" />
    </>
  ),
  gap: (
    <>
      <rect x="2.5" y="2.5" width="11" height="11" rx="1.5" strokeDasharray="2.4 2" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M8 7.300v3.700M8 5v.1" />
    </>
  ),
  interrupted: (
    <>
      <path d="M9.4 1.4 3.2 9h4L6.4 14.6 12.8 6.800h-4z" fill="currentColor" stroke="none" />
    </>
  ),
  jobs: (
    <>
      <path d="M5.5 3.500h8.700M5.5 8h8.700M5.5 12.500h8.7" />
      <circle cx="2.4" cy="3.5" r=".7" fill="currentColor" />
      <circle cx="2.4" cy="8" r=".7" fill="currentColor" />
      <circle cx="2.4" cy="12.5" r=".7" fill="currentColor" />
    </>
  ),
  left: (
    <>
      <path d="M10 3.5 5.5 8l4.5 4.5" />
    </>
  ),
  modules: (
    <>
      <path d="M1.5 8.500h3l1.8-5 3 9 1.9-4h3.3" />
    </>
  ),
  moon: (
    <>
      <path d="M13.5 9.800A6 6 0 0 1 6.2 2.500a6 6 0 1 0 7.3 7.300z" />
    </>
  ),
  more: (
    <>
      <circle cx="3" cy="8" r=".9" fill="currentColor" />
      <circle cx="8" cy="8" r=".9" fill="currentColor" />
      <circle cx="13" cy="8" r=".9" fill="currentColor" />
    </>
  ),
  ok: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M5 8.3 7.2 10.4 11 5.9" />
    </>
  ),
  overview: (
    <>
      <rect x="1.8" y="1.8" width="5" height="7" />
      <rect x="9.2" y="1.8" width="5" height="3.6" />
      <rect x="9.2" y="7.8" width="5" height="6.4" />
      <rect x="1.8" y="11.4" width="5" height="2.8" />
    </>
  ),
  partial: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M8 1.8a6.2 6.2 0 0 1 0 12.400z" fill="currentColor" stroke="none" />
    </>
  ),
  paused: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M6.4 5.600v4.800M9.6 5.600v4.8" />
    </>
  ),
  pending: (
    <>
      <circle cx="8" cy="8" r="6.2" strokeDasharray="2.6 1.7" />
      <path d="M8 4.8V8l2.2 1.5" />
    </>
  ),
  person: (
    <>
      <circle cx="8" cy="5" r="2.8" />
      <path d="M2.5 14c.6-3.2 2.8-4.6 5.5-4.600s4.9 1.4 5.5 4.6" />
    </>
  ),
  plus: (
    <>
      <path d="M8 3v10M3 8h10" />
    </>
  ),
  rerun: (
    <>
      <path d="M13.5 8a5.5 5.5 0 1 1-1.6-3.9" />
      <path d="M13.8 1.600v3h-3" />
    </>
  ),
  right: (
    <>
      <path d="M6 3.5 10.5 8 6 12.5" />
    </>
  ),
  running: (
    <>
      <path d="M8 1.8A6.2 6.2 0 1 1 1.8 8" />
      <path d="M6.6 5.4v5.2L10.8 8z" fill="currentColor" stroke="none" />
    </>
  ),
  schedules: (
    <>
      <rect x="1.8" y="3" width="12.4" height="11.2" rx="1.5" />
      <path d="M1.8 6.600h12.400M5 1.500v3M11 1.500v3M8 8.800v2.400h2" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.7" />
      <path d="m10.5 10.5 3.7 3.7" />
    </>
  ),
  sleep: (
    <>
      <path d="M1.8 8.800h4l-4 5h4" />
      <path d="M7 4.800h3.400L7 9.200h3.4" />
      <path d="M11.6 1.600h2.800l-2.8 3.600h2.8" />
    </>
  ),
  star: (
    <>
      <path d="m8 1.8 1.9 4 4.3.5-3.2 3 .9 4.300L8 11.500l-3.9 2.1.9-4.3-3.2-3 4.3-.5z" />
    </>
  ),
  leave: (
    <>
      <path d="M6.5 2.500h-4v11h4M6 8h8M11 4.800 14 8l-3 3.200" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1v1.600M8 13.400V15M1 8h1.600M13.4 8H15M3.050 3.050l1.1 1.100M11.850 11.850l1.1 1.100M3.050 12.950l1.1-1.100M11.850 4.150l1.1-1.1" />
    </>
  ),
  tasks: (
    <>
      <path d="M4.5 4.5 1.5 8l3 3.500M11.5 4.500l3 3.5-3 3.500M9.3 2.500l-2.6 11" />
    </>
  ),
  warning: (
    <>
      <path d="M8 1.9 14.6 13.600H1.400z" />
      <path d="M8 6.200v3.4" />
      <circle cx="8" cy="11.6" r=".5" fill="currentColor" />
    </>
  ),
  workers: (
    <>
      <rect x="1.8" y="2.2" width="12.4" height="5" rx="1" />
      <rect x="1.8" y="8.8" width="12.4" height="5" rx="1" />
      <path d="M4.2 4.700h.1M4.2 11.300h.1M7.5 4.700h4M7.5 11.300h4" />
    </>
  ),
  x: (
    <>
      <path d="m4 4 8 8M12 4l-8 8" />
    </>
  ),
} satisfies Record<string, ReactNode>;
export type Shape = keyof typeof shapes;
