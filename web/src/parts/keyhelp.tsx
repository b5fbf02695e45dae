/* All keys on one page. */
import { type Key, useSpeech } from "../i18n";
import { Dialog } from "./dialog";

const GROUPS: [Key, [string[], Key][]][] = [
  [
    "keys.everywhere",
    [
      [["?"], "keys.help"],
      [["Esc"], "keys.esc"],
    ],
  ],
  [
    "nav.jobs",
    [
      [["/"], "keys.filter"],
      [["j"], "keys.next"],
      [["k"], "keys.previous"],
      [["x"], "keys.select"],
      [["Enter"], "keys.open"],
      [["r"], "keys.rerun"],
    ],
  ],
  [
    "nav.coverage",
    [
      [["←", "→", "↑", "↓"], "keys.move"],
      [["Shift", "→"], "keys.range"],
    ],
  ],
  ["nav.questions", [[["Ctrl", "↵"], "keys.send"]]],
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const { t } = useSpeech();
  return (
    <Dialog title={t("keys.all")} onClose={onClose}>
      <div className="dialog-body keys">
        {GROUPS.map(([title, keys]) => (
          <div key={title}>
            <h3>{t(title)}</h3>
            <dl>
              {keys.map(([names, what]) => (
                <div key={what}>
                  <dt>
                    {names.map((name) => (
                      <kbd key={name}>{name}</kbd>
                    ))}
                  </dt>
                  <dd>{t(what)}</dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
