// For a container's health check: exit 0 when /readyz of the admin listener answers 200, else 1 and the reason.
const base = process.env.ISTHMUS_ADMIN ?? 'http://127.0.0.1:9190';

try {
  const answer = await fetch(new URL('/readyz', base), { signal: AbortSignal.timeout(2_500) });
  if (!answer.ok)
    throw new Error(`${base}/readyz answers ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
} catch (error) {
  const away =
    error.cause?.code === 'ECONNREFUSED'
      ? ' (does the YAML have `admin: { bind: … }` with this address?)'
      : '';
  process.stderr.write(`${error.cause?.message ?? error.message}${away}\n`);
  process.exitCode = 1;
}
