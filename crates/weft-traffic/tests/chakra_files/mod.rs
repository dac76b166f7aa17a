//! A writer of Chakra's files, independent of the reader: messages of protobuf by their field numbers.

/// The file of a rank.
pub struct Trace {
    messages: Vec<Vec<u8>>,
}

/// A node under construction.
#[derive(Clone)]
pub struct Node {
    bytes: Vec<u8>,
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn number(bytes: &mut Vec<u8>, field: u64, value: u64) {
    varint(bytes, field << 3);
    varint(bytes, value);
}

fn block(bytes: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(bytes, field << 3 | 2);
    varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

impl Trace {
    pub fn new(nodes: &[Node]) -> Self {
        let mut metadata = Vec::new();
        block(&mut metadata, 1, b"0.0.4");
        let nodes = nodes.iter().map(|node| node.bytes.clone());
        Self {
            messages: [metadata].into_iter().chain(nodes).collect(),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in &self.messages {
            varint(&mut bytes, message.len() as u64);
            bytes.extend_from_slice(message);
        }
        bytes
    }

    /// Returns the bytes up to the end of each message. Messages are shorter than 128 bytes.
    pub fn ends(&self) -> Vec<usize> {
        let mut end = 0;
        let ends = self.messages.iter().map(|message| {
            end += 1 + message.len();
            end
        });
        ends.collect()
    }
}

impl Node {
    pub fn new(id: u64, kind: u64) -> Self {
        let mut bytes = Vec::new();
        number(&mut bytes, 1, id);
        block(&mut bytes, 2, b"a node");
        number(&mut bytes, 3, kind);
        Self { bytes }
    }

    pub fn duration(mut self, micros: u64) -> Self {
        number(&mut self.bytes, 7, micros);
        self
    }

    /// Adds `data_deps`, packed.
    pub fn after(mut self, ids: &[u64]) -> Self {
        self.dependencies(5, ids);
        self
    }

    /// Adds `ctrl_deps`, packed.
    pub fn control(mut self, ids: &[u64]) -> Self {
        self.dependencies(4, ids);
        self
    }

    fn dependencies(&mut self, field: u64, ids: &[u64]) {
        let mut packed = Vec::new();
        for &id in ids {
            varint(&mut packed, id);
        }
        block(&mut self.bytes, field, &packed);
    }

    pub fn inputs(mut self, values: &str) -> Self {
        let mut inputs = Vec::new();
        block(&mut inputs, 1, values.as_bytes());
        block(&mut self.bytes, 8, &inputs);
        self
    }

    fn attribute(mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut attribute = Vec::new();
        block(&mut attribute, 1, name.as_bytes());
        value(&mut attribute);
        block(&mut self.bytes, 10, &attribute);
        self
    }

    pub fn int32(self, name: &str, value: i32) -> Self {
        self.attribute(name, |bytes| number(bytes, 7, i64::from(value).cast_unsigned()))
    }

    pub fn int64(self, name: &str, value: i64) -> Self {
        self.attribute(name, |bytes| number(bytes, 9, value.cast_unsigned()))
    }

    pub fn uint64(self, name: &str, value: u64) -> Self {
        self.attribute(name, |bytes| number(bytes, 13, value))
    }

    pub fn sint64(self, name: &str, value: i64) -> Self {
        let zigzag = (value << 1 ^ value >> 63).cast_unsigned();
        self.attribute(name, |bytes| number(bytes, 17, zigzag))
    }

    pub fn fixed64(self, name: &str, value: u64) -> Self {
        self.attribute(name, |bytes| {
            varint(bytes, 21 << 3 | 1);
            bytes.extend_from_slice(&value.to_le_bytes());
        })
    }

    pub fn bool(self, name: &str, value: bool) -> Self {
        self.attribute(name, |bytes| number(bytes, 27, value.into()))
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.attribute(name, |bytes| block(bytes, 29, value.as_bytes()))
    }
}
