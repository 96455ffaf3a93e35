-- What a GPU-hour costs, as the settings say; null: no price is given.
-- grain: one row
select
    gpu_hour_price,
    currency
from publishing_prices
