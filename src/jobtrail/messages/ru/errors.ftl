retry-asked = тело попросило повторить
question-asked = задание спрашивает: { $name }
stop-asked = задание попросили остановиться: { cause-name }
answer-refused = ответ не подходит: { $problems }
field = { $path } { $problem }
both = { $first }; { $second }
more = и ещё { $count }
whole = { $problem }
