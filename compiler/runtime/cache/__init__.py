"""The folder of stored kernels, programs and tiles: where it is, who may write it, which of its files are
ours.

What is stored is run: launch plans are executed as Python, cubins on the GPU.  So whoever can write the
folder can run code as its user.  It is therefore opened as code would be: it must belong to one owner and be
writable by no one else, and links are not followed.  ``cache_folder.py`` reads and writes entries;
``owned_files.py`` opens files; ``cache_contents.py`` knows our file names and deletes nothing else;
``entry_bytes.py`` is the form of an entry; ``places.py`` finds the folder that the options name.  All of the
runtime and of the backend may import it; it imports only the options.
"""
