/** Gatehouse's mark: a gate between two towers. */
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <rect x="1" y="1" width="22" height="22" rx="6" fill="var(--mantine-color-teal-filled)" />
      <path d="M5 18.5V7h2v1.5h1.5V7H10v3h4V7h1.5v1.5H17V7h2v11.5h-4.5V15a2.5 2.5 0 0 0-5 0v3.5z" fill="#fff" />
    </svg>
  );
}
