/** A duration for people, to the second: `45 s`, `2 min 5 s`, `1 h 3 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [h, min, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (h > 0) return min > 0 ? `${h} h ${min} min` : `${h} h`;
  if (min > 0) return s > 0 ? `${min} min ${s} s` : `${min} min`;
  return `${s} s`;
}
