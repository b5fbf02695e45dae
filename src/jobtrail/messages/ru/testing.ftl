no-point = точки '{ $point }' нет; есть: { $known }, step:ИМЯ, item:N
