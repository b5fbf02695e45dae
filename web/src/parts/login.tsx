/* Logging in with a token, where the server asks for it; other ways are the host's. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Problem, post } from "../api/client";
import { useSpeech } from "../i18n";
import { ProblemNote } from "./problem";

export function Login({ ways }: { ways: string[] }) {
  const { t } = useSpeech();
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const enter = async () => {
    try {
      await post("login", { token: token.trim() });
      setProblem(null);
      await client.invalidateQueries();
    } catch (error) {
      setProblem(error as Problem);
    }
  };
  return (
    <main className="login" id="main">
      <h1>jobtrail</h1>
      <p className="soft">{t(ways.includes("token") ? "login.token" : "login.host")}</p>
      {ways.includes("token") && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void enter();
          }}
        >
          <label className="line-field">
            <span>{t("login.field")}</span>
            <input
              className="input"
              type="password"
              autoComplete="current-password"
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          </label>
          {problem && <ProblemNote problem={problem} />}
          <button type="submit" className="btn primary">
            {t("login.enter")}
          </button>
        </form>
      )}
      <p className="small dim">{t("login.how")}</p>
    </main>
  );
}
