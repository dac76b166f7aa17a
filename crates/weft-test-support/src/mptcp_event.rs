//! Events of the kernel's MPTCP path manager (`include/uapi/linux/mptcp_pm.h`), as bytes.

/// Netlink family of the event. A receiver that knows its own family accepts no other, so the value
/// only has to be above the reserved ones.
const FAMILY: u16 = 0x20;

/// Returns the event of a connection that is established between two addresses, ports 1000 and 80.
pub fn established(token: u32, local: [u8; 4], remote: [u8; 4]) -> Vec<u8> {
    let attribute = |kind: u16, value: &[u8]| {
        let length = 4 + value.len();
        let mut bytes = (length as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(length.next_multiple_of(4), 0);
        bytes
    };
    let attributes = [
        attribute(1, &token.to_ne_bytes()),
        attribute(2, &2_u16.to_ne_bytes()),
        attribute(5, &local),
        attribute(7, &remote),
        attribute(9, &1000_u16.to_be_bytes()),
        attribute(10, &80_u16.to_be_bytes()),
    ]
    .concat();
    let mut bytes = (20 + attributes.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(FAMILY.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend([2, 1, 0, 0]);
    bytes.extend(attributes);
    bytes
}
