//! Frames in the one stream of everything: in no log, so without a place, for the owner whose agents may get them.

use blackbox::{Delivery, Server, Stream, room};
use serde_json::json;

use super::{next_event, sign_in};
use crate::frames::speak::{advisory, id_of};

/// The next event that tells of something.
async fn next(stream: &mut Stream) -> Delivery {
    loop {
        let event = stream.event().await;
        if event.frame["kind"] != "hello" && event.frame["kind"] != "head" {
            return event;
        }
    }
}

/// An owner who asks for frames gets those that are still kept, and each one that comes, from its own agents and from others
/// to them; they have no cursor, and do not move the place in the log.
#[tokio::test]
async fn an_owner_gets_the_frames_for_its_agents() {
    let server = Server::start().await;
    let nick = server.owner("nick").await;
    let (one, bot) = (server.agent("@nick.one").await, server.agent("@acme.bot").await);
    let browser = sign_in(&server, &nick, json!({})).await;
    let before = advisory(&one, "~nick", "before anybody looks");
    one.post("/frames", before.clone()).await.ok(200);
    let mut stream = browser.watch("?frames=true").await;
    let hello = stream.event().await;
    assert_eq!(hello.frame["kind"], "hello");
    let kept = next(&mut stream).await;
    assert_eq!(kept.id, hello.id, "it has no place of its own");
    let event = &kept.frame;
    assert_eq!(event.get("cursor"), None, "{event}");
    assert_eq!(
        [&event["room"], &event["kind"], &event["stream"], &event["agents"]],
        [&json!("frames"), &json!("frame.agent_advisory"), &json!("~nick"), &json!(["@nick.one"])]
    );
    assert_eq!(
        [&event["data"]["frame_id"], &event["data"]["from"], &event["data"]["to"]],
        [&json!(id_of(&before)), &json!("~nick"), &json!("~nick")]
    );
    assert!(event["data"]["text"].as_str().expect("text").contains("before anybody looks"), "{event}");
    let live = advisory(&bot, "~nick", "from another owner");
    bot.post("/frames", live.clone()).await.ok(200);
    let event = next(&mut stream).await.frame;
    assert_eq!((&event["data"]["frame_id"], &event["agents"]), (&json!(id_of(&live)), &json!(["@acme.bot"])));
    // The log goes on beside it, and each frame came once.
    let id = room(&[&one]).await;
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "end"})).await.ok(201);
    loop {
        let event = next_event(&mut stream).await;
        assert_ne!(event["room"], "frames", "{event}");
        if event["data"]["text"] == "end" {
            break;
        }
    }
}

/// Who does not ask for them, is another owner, or is an agent, gets none; filters hold for them too.
#[tokio::test]
async fn frames_are_told_to_nobody_else() {
    let server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let (one, two) = (server.agent("@nick.one").await, server.agent("@nick.two").await);
    let bot = server.agent("@acme.bot").await;
    let (mine, theirs) = (sign_in(&server, &nick, json!({})).await, sign_in(&server, &acme, json!({})).await);
    let wanted = "?frames=true&kinds=frame,session.message";
    let mut of_acme = theirs.watch(wanted).await;
    let mut unasked = mine.watch("?kinds=frame,session.message").await;
    let mut of_agent = one.stream(&format!("/watch{wanted}")).await;
    let mut of_two = mine.watch(&format!("{wanted}&agents=@nick.two")).await;
    let mut of_words = mine.watch("?frames=true&q=needle").await;
    one.post("/frames", advisory(&one, "~nick", "among us")).await.ok(200);
    let found = advisory(&two, "~nick", "a needle");
    two.post("/frames", found.clone()).await.ok(200);
    let fence = advisory(&bot, "~acme", "ours");
    bot.post("/frames", fence.clone()).await.ok(200);
    assert_eq!(next(&mut of_acme).await.frame["data"]["frame_id"], id_of(&fence));
    for stream in [&mut of_two, &mut of_words] {
        assert_eq!(next(stream).await.frame["data"]["frame_id"], id_of(&found));
    }
    let id = room(&[&one]).await;
    one.post(&format!("/sessions/{id}/messages"), json!({"content": "end"})).await.ok(201);
    for stream in [&mut unasked, &mut of_agent] {
        assert_eq!(next(stream).await.frame["data"]["text"], "end");
    }
    mine.get("/watch?frames=perhaps").await.assert_refused(400, "invalid_query");
}

/// What an agent sends to another owner is told to both: to whom it is for, and to its own people, once.
#[tokio::test]
async fn an_owner_gets_the_frames_that_its_agents_send_to_others() {
    let server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let third = server.owner("mia").await;
    let one = server.agent("@nick.one").await;
    let _bot = server.agent("@acme.bot").await;
    let kim = server.agent("@mia.kim").await;
    let before = advisory(&one, "~acme", "before anybody looks");
    one.post("/frames", before.clone()).await.ok(200);
    let mut of_nick = sign_in(&server, &nick, json!({})).await.watch("?frames=true&kinds=frame").await;
    let mut of_acme = sign_in(&server, &acme, json!({})).await.watch("?frames=true&kinds=frame").await;
    let mut of_mia = sign_in(&server, &third, json!({})).await.watch("?frames=true&kinds=frame").await;
    let live = advisory(&one, "~acme", "while they look");
    for stream in [&mut of_nick, &mut of_acme] {
        assert_eq!(next(stream).await.frame["data"]["frame_id"], id_of(&before));
    }
    one.post("/frames", live.clone()).await.ok(200);
    let own = advisory(&one, "~nick", "among us");
    one.post("/frames", own.clone()).await.ok(200);
    let sent = next(&mut of_nick).await.frame;
    assert_eq!(
        [
            &sent["stream"],
            &sent["agents"],
            &sent["data"]["frame_id"],
            &sent["data"]["from"],
            &sent["data"]["to"]
        ],
        [&json!("~nick"), &json!(["@nick.one"]), &json!(id_of(&live)), &json!("~nick"), &json!("~acme")]
    );
    let next_of_nick = next(&mut of_nick).await.frame;
    assert_eq!(next_of_nick["data"]["frame_id"], id_of(&own), "each came once, in order");
    assert_eq!(next(&mut of_acme).await.frame["data"]["frame_id"], id_of(&live));
    // A third owner hears of none of them.
    let fence = advisory(&kim, "~mia", "ours");
    kim.post("/frames", fence.clone()).await.ok(200);
    assert_eq!(next(&mut of_mia).await.frame["data"]["frame_id"], id_of(&fence));
}
