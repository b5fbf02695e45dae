/* Builds the console into the package; every address in it is relative, so that it works under any path. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.JOBTRAIL_SERVER ?? "http://127.0.0.1:8765";

const SHARED =
  /node_modules.(react|react-dom|@tanstack)\b|src.(api|i18n)\b|src.lib.(filter|format|keys|pulse|said|store|theme|words)\b|src.parts.(basic|crumbs|dialog|jobcells|problem|shapes|status)\b/;

export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: process.env.JOBTRAIL_CONSOLE_OUT ?? "../src/jobtrail/api/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 700,
    // What most pages share comes in one file, for each file is a way to the server and back.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "base", test: SHARED, minShareCount: 2 }] } } },
  },
  server: { proxy: { "/api": { target: server, ws: true, changeOrigin: false } } },
});
