retry-asked = the body asked for a retry
question-asked = the job asks: { $name }
stop-asked = the job was asked to stop: { cause-name }
answer-refused = the answer does not fit: { $problems }
field = { $path } { $problem }
both = { $first }; { $second }
more = and { $count } more
whole = it { $problem }
