bad-kind = a kind is dotted lower-case words such as module.error; it is { $kind }
bad-subject = a subject is a text of 1 to { $most } characters; it is { $subject }
bad-moment = the time of an event is an aware datetime; it is { $value }
