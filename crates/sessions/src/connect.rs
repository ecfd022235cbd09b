//! One live connection: opened, caught up, pumped, closed (ASP-39 to ASP-53).

use axum::extract::ws::WebSocket;
use plenary_accounts::AgentCaller;
use plenary_hub::{ConnectError, Connection};
use plenary_room::close;

use crate::{
    Sessions,
    pump::{End, Pump},
    wire::Form,
};

impl Sessions {
    /// Serves a WebSocket until it ends.
    pub(crate) async fn connect(self, caller: AgentCaller, form: Form, mut socket: WebSocket) {
        let end = match self.0.presence.open(&caller.handle) {
            Ok(connection) => {
                let end = self.serve(&caller, &connection, form, &mut socket).await;
                self.disconnect(connection);
                end
            }
            Err(ConnectError::TooMany) => End::Close(1013, "too many connections of this agent"),
            Err(ConnectError::ShuttingDown) => End::SHUTDOWN,
        };
        if let End::Close(code, reason) = end {
            close(socket, code, reason).await;
        }
    }

    async fn serve(
        &self,
        caller: &AgentCaller,
        connection: &Connection,
        form: Form,
        socket: &mut WebSocket,
    ) -> End {
        let pump = match Pump::start(self, caller, connection, form, socket).await {
            Ok(pump) => pump,
            Err(end) => return end,
        };
        if connection.first {
            let (sessions, handle) = (self.clone(), connection.handle.clone());
            tokio::spawn(async move {
                if let Err(fault) = sessions.handle_online(&handle).await {
                    tracing::warn!(%fault, "a return was not written; the grace window decides");
                }
            });
        }
        pump.run().await
    }

    fn disconnect(self, connection: Connection) {
        let Some(closed) = self.0.presence.close(&connection) else { return };
        tokio::spawn(async move { self.handle_offline_with_retries(&connection.handle, closed).await });
    }
}
