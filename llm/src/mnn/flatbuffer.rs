//! A checked reader of flatbuffer tables. Fields are named by their vtable slot (4, 6, 8, ...), as in MNN's schema.
//!
//! Offsets in a hostile buffer may point anywhere, also backwards into shared or overlapping tables. Each read is checked
//! against the buffer; nothing recurses, and vectors are no longer than the buffer, so reading stays linear in its size.

/// Why a buffer is malformed.
pub(super) type Result<T> = std::result::Result<T, String>;

/// A table in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    buffer: &'a [u8],
    at: usize,
}

fn bytes<const N: usize>(buffer: &[u8], at: usize) -> Result<[u8; N]> {
    let slice = at.checked_add(N).and_then(|end| buffer.get(at..end));
    let mut array = [0; N];
    array.copy_from_slice(slice.ok_or_else(|| format!("an offset of {at} leads out of the file"))?);
    Ok(array)
}

fn offset(buffer: &[u8], at: usize) -> Result<usize> {
    let relative = u32::from_le_bytes(bytes(buffer, at)?) as usize;
    at.checked_add(relative).ok_or_else(|| "an offset overflows".to_owned())
}

impl<'a> Table<'a> {
    /// The root table.
    pub(super) fn root(buffer: &'a [u8]) -> Result<Self> {
        Ok(Self { buffer, at: offset(buffer, 0)? })
    }

    /// Position of the field in `slot`; `None` where the table leaves it at its default.
    fn field(&self, slot: usize) -> Result<Option<usize>> {
        let back = i32::from_le_bytes(bytes(self.buffer, self.at)?);
        let vtable = i64::try_from(self.at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let vtable = vtable.ok_or("a table's vtable lies outside the file")?;
        let size = usize::from(u16::from_le_bytes(bytes(self.buffer, vtable)?));
        if slot + 2 > size {
            return Ok(None);
        }
        match u16::from_le_bytes(bytes(self.buffer, vtable + slot)?) {
            0 => Ok(None),
            relative => Ok(Some(self.at + usize::from(relative))),
        }
    }

    fn scalar<const N: usize, T>(&self, slot: usize, default: T, read: fn([u8; N]) -> T) -> Result<T> {
        match self.field(slot)? {
            None => Ok(default),
            Some(at) => bytes(self.buffer, at).map(read),
        }
    }

    pub(super) fn u8(&self, slot: usize, default: u8) -> Result<u8> {
        self.scalar(slot, default, u8::from_le_bytes)
    }

    pub(super) fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        self.scalar(slot, default, i32::from_le_bytes)
    }

    pub(super) fn f32(&self, slot: usize, default: f32) -> Result<f32> {
        self.scalar(slot, default, f32::from_le_bytes)
    }

    pub(super) fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        let Some(at) = self.field(slot)? else { return Ok(None) };
        Ok(Some(Table { buffer: self.buffer, at: offset(self.buffer, at)? }))
    }

    /// Position and number of the elements of a vector.
    fn vector(&self, slot: usize, element: usize) -> Result<(usize, usize)> {
        let Some(at) = self.field(slot)? else { return Ok((0, 0)) };
        let at = offset(self.buffer, at)?;
        let len = u32::from_le_bytes(bytes(self.buffer, at)?) as usize;
        let start = at + 4;
        let end = len.checked_mul(element).and_then(|bytes| bytes.checked_add(start));
        if end.is_none_or(|end| end > self.buffer.len()) {
            return Err(format!("a vector of {len} elements reaches beyond the end of the file"));
        }
        Ok((start, len))
    }

    fn scalars<const N: usize, T>(&self, slot: usize, read: fn([u8; N]) -> T) -> Result<Vec<T>> {
        let (start, len) = self.vector(slot, N)?;
        (0..len).map(|i| bytes(self.buffer, start + i * N).map(read)).collect()
    }

    pub(super) fn i32s(&self, slot: usize) -> Result<Vec<i32>> {
        self.scalars(slot, i32::from_le_bytes)
    }

    pub(super) fn i64s(&self, slot: usize) -> Result<Vec<i64>> {
        self.scalars(slot, i64::from_le_bytes)
    }

    pub(super) fn f32s(&self, slot: usize) -> Result<Vec<f32>> {
        self.scalars(slot, f32::from_le_bytes)
    }

    pub(super) fn string(&self, slot: usize) -> Result<&'a str> {
        let (start, len) = self.vector(slot, 1)?;
        std::str::from_utf8(&self.buffer[start..start + len]).map_err(|_| "a name is not UTF-8".to_owned())
    }

    /// The tables of a vector, one at a time.
    pub(super) fn tables(&self, slot: usize) -> Result<impl Iterator<Item = Result<Table<'a>>>> {
        let (start, len) = self.vector(slot, 4)?;
        let buffer = self.buffer;
        Ok((0..len).map(move |i| Ok(Table { buffer, at: offset(buffer, start + 4 * i)? })))
    }

    /// Number of elements of a vector of offsets.
    pub(super) fn count(&self, slot: usize) -> Result<usize> {
        Ok(self.vector(slot, 4)?.1)
    }
}
