"""English dates with the day before the month and 24 hours a day, so that nobody has to guess which is which."""

DATE_FORMAT = "j F Y"
DATETIME_FORMAT = "j F Y H:i"
SHORT_DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = "j M Y H:i"
TIME_FORMAT = "H:i"
