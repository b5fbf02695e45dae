export function Task() {
  return null;
}
