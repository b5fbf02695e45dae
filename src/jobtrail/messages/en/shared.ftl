# Parts of sentences that several rooms use: `{ status-name }` in a text that has $status.
status-name =
    { $status ->
        [awaiting_input] awaiting input
        [awaiting_mapping] awaiting mapping
       *[other] { $status }
    }
cause-name =
    { $cause ->
        [shutdown] its worker shuts down
        [overtaken] overtaken by a newer run
       *[other] { $cause }
    }
