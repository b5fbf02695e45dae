bad-kind = вид события: строчные слова через точку, например module.error; получено { $kind }
bad-subject = предмет события: текст длиной от 1 до { $most }; получено { $subject }
bad-moment = время события: datetime с часовым поясом; получено { $value }
