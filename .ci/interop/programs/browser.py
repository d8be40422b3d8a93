"""Stands in for the operator's browser: visits a URL and follows where it is sent.   browser.py URL"""

import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=10) as page:
    page.read()
