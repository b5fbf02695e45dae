export function Schedules() {
  return null;
}
