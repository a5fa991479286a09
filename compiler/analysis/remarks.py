"""``base/remarks.py`` by the name that plugins know it by."""

from ..base.remarks import Remark, Remarks

__all__ = ["Remark", "Remarks"]
