"""The folder of stored kernels, programs and tiles: where it is, who may write it, what in it is ours.

What is stored is run: launch plans are executed as Python, cubins on the GPU.  So whoever can write the
folder runs code as its user, and the folder is opened as code is: of one owner, writable by no one else,
without following links.  ``cache_folder.py`` reads and writes entries; ``owned_files.py`` opens files;
``cache_contents.py`` knows our names and deletes nothing else; ``entry_bytes.py`` is the form of an entry;
``places.py`` is what the options say.  All of the runtime and of the backend may import it; it imports the
options alone.
"""
