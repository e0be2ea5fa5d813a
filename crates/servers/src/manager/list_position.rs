//! The position of a server in a list of servers.

use gatehouse_model::ServerId;

/// Where a removed server was in a list, so that it comes back there, whatever was added and removed meanwhile.
#[derive(Clone, Debug, Default)]
pub struct ListPosition {
    /// The servers that came before it, in their order.
    before: Vec<ServerId>,
}

impl ListPosition {
    /// The position of a server in a list that has it.
    pub fn of(server: &ServerId, list: &[ServerId]) -> Self {
        Self { before: list.iter().take_while(|id| *id != server).cloned().collect() }
    }

    /// The index at which the server belongs in a list: after the nearest of those that came before it.
    pub fn index_in(&self, list: &[ServerId]) -> usize {
        let mut nearest_first = self.before.iter().rev();
        let nearest = nearest_first.find_map(|server| list.iter().position(|id| id == server));
        nearest.map_or(0, |nearest| nearest.saturating_add(1))
    }
}
