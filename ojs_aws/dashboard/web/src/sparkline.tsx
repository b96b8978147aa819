// Small drawings in a table's row: a line with a dot at its end, and bars.

const WIDTH = 140;
const HEIGHT = 28;
/** Drawn from zero, and never higher than life: a few jobs do not look like many. */
const LEAST = 60;
const LEAST_BARS = 5;

/** How a number moved. The same stands beside it in words, so it is hidden from screen readers. */
export function Sparkline({ values, look }: { values: readonly number[]; look: string }) {
  if (values.length < 2) return null;
  const most = Math.max(LEAST, ...values);
  const x = (index: number): number => Math.round(20 + (index / (values.length - 1)) * (WIDTH * 10 - 60)) / 10;
  const y = (value: number): number => Math.round((HEIGHT - 3 - (value / most) * (HEIGHT - 6)) * 10) / 10;
  const line = values.map((value, index) => `${x(index)} ${y(value)}`).join("L");
  const [last = 0] = values.slice(-1);
  return (
    <svg class={`spark st-${look}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path class="area" d={`M${x(0)} ${HEIGHT - 2}L${line}L${x(values.length - 1)} ${HEIGHT - 2}Z`} />
      <path d={`M${line}`} />
      <circle cx={x(values.length - 1)} cy={y(last)} r="2" />
    </svg>
  );
}

/** Counts over time, each as a bar; one of nothing leaves a trace. */
export function Bars({ values, most, look }: { values: readonly number[]; most: number; look: string }) {
  const step = WIDTH / values.length;
  const height = (value: number): number => (value > 0 ? Math.max(2, (value / Math.max(LEAST_BARS, most)) * HEIGHT) : 1);
  return (
    <svg class={`spark st-${look}`} width={WIDTH} height={HEIGHT} role="img" aria-label={`Failures in each period, the oldest first: ${values.join(", ")}`}>
      {values.map((value, index) => <rect key={index} x={index * step} y={HEIGHT - height(value)} width={Math.max(1, step - 1)} height={height(value)} />)}
    </svg>
  );
}
