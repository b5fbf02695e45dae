item-gone = gone
