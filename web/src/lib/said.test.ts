import { describe, expect, it } from "vitest";
import { said } from "../i18n/ru";
import { teller } from "./said";

const tell = teller(said, "ru", { status: (word) => `<${word}>`, cause: (word) => `[${word}]` });

describe("a sentence of the server", () => {
  it("is told in the language of the reader, with its numbers", () => {
    expect(tell("its worker was silent for 17 s")).toBe("исполнитель молчал 17 с");
    expect(tell("1,024 of 2,000 items failed")).toMatch(/^1\s024 из 2\s000 элементов с ошибкой$/);
    expect(tell("killed its worker 3 times (its worker's process 2438 is gone)")).toBe(
      "3 раза погубило исполнителя (процесса исполнителя 2438 больше нет)",
    );
    expect(tell("is running")).toBe("сейчас «<running>»");
    expect(tell("constructor")).toBe("constructor");
    expect(tell("is broken")).toBe("is broken");
    expect(tell("stopped by its stall limit; its worker is dead")).toBe("остановлено: [stall]; исполнитель погиб");
    expect(tell("the loop was left early after 3 items, 1 of them failed")).toBe(
      "цикл оставлен раньше времени, после 3 элементов, с ошибкой 1",
    );
  });

  it("keeps what it does not know, word for word", () => {
    expect(tell("the source is moved; nothing to do")).toBe("the source is moved; делать нечего");
    expect(tell("<b>{n}</b> $1 (a|b)")).toBe("<b>{n}</b> $1 (a|b)");
  });
});
