"""The page of option ``report``: its data (``data.py``), its file (``page_file.py``), and what is in it
beside the data: ``page.html``, ``style.css``, and the scripts, which are one script in the page.
"""
