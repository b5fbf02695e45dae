export function Errors() {
  return null;
}
