/* Builds the console into the package; every address in it is relative, so that it works under any path. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.JOBTRAIL_SERVER ?? "http://127.0.0.1:8765";

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
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "base", minShareCount: 5 }] } } },
  },
  server: { proxy: { "/api": { target: server, ws: true, changeOrigin: false } } },
});
