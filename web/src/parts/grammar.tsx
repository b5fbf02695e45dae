/* The whole grammar of the filter on one page. */
import { type Key, useSpeech } from "../i18n";
import { Dialog } from "./dialog";

const LINES: [string, Key][] = [
  ["status:failed", "grammar.status"],
  ["task:sync_weather", "grammar.task"],
  ["source:weather/*", "grammar.source"],
  ["period:2013-02", "grammar.period"],
  ["after:2d  before:2013-05-01", "grammar.after"],
  ["ended:2d  ended:2013-05-01/2013-05-02", "grammar.ended"],
  ["error:timeout", "grammar.error"],
  ["args.airport:EWR", "grammar.args"],
  ["label:tenant=acme", "grammar.label"],
  ["celery:0197e2c4*", "grammar.celery"],
  ["outcome:none  kind:sync  queue:default", "grammar.others"],
  ['"free text"', "grammar.text"],
  ["status:failed status:partial", "grammar.either"],
  ["-task:probe", "grammar.not"],
];

export function GrammarDialog({ onClose }: { onClose: () => void }) {
  const { t } = useSpeech();
  return (
    <Dialog title={t("filter.grammar")} onClose={onClose} wide>
      <div className="dialog-body">
        <table className="t">
          <tbody>
            {LINES.map(([example, what]) => (
              <tr key={example}>
                <td className="mono nowrap">{example}</td>
                <td className="soft">{t(what)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  );
}
