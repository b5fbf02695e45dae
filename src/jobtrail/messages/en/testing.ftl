no-point = there is no point '{ $point }'; the points are: { $known }, step:NAME, item:N
