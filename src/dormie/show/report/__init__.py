"""A page about a plan at work, for people who were not there: one HTML file that loads nothing.

measured  what is told        speed  the clock        words  the guarantee in plain words
drawn     bars, tables, pictures, and all escaping    style  how the page looks      page  all of it together
report    the page as a file
"""

from dormie.show.report.report import report

__all__ = ["report"]
