//! An elicitation of the agent with a form, as a question to the caller, and the answer as the values.
//! Must not know: the transport.

use plenary_kernel::form::Form;
use plenary_runs::{ELICITATION, Event};
use serde_json::{Map, Value, json};

/// The longest schema, in bytes of JSON; a longer one is refused.
pub(super) const FORM_BYTES_MAX: usize = 32 << 10;
/// Longest message of the agent that is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 4_000;

/// A request for values.
#[derive(Debug, PartialEq)]
pub(super) struct Elicitation {
    message: String,
    schema: Map<String, Value>,
    form: Form,
}

impl Elicitation {
    /// Parses the parameters of `elicitation/create`.
    ///
    /// # Errors
    /// Why the request is not possible, as text for the agent.
    pub(super) fn new(params: &Value) -> Result<Self, String> {
        if params["mode"].as_str().is_some_and(|mode| mode != "form") {
            return Err("only the mode form is offered".to_owned());
        }
        let schema = params["requestedSchema"].as_object().ok_or("requestedSchema must be an object")?;
        if params["requestedSchema"].to_string().len() > FORM_BYTES_MAX {
            return Err(format!("requestedSchema may have at most {FORM_BYTES_MAX} bytes"));
        }
        let form = Form::read(schema).map_err(|fault| format!("requestedSchema {fault}"))?;
        // A value with that name could not be distinguished from a refusal.
        if form.describe().contains_key(ELICITATION) {
            return Err(format!("requestedSchema may not have a field `{ELICITATION}`"));
        }
        let message = params["message"].as_str().filter(|message| !message.trim().is_empty());
        let message =
            message.unwrap_or("The agent asks for input.").chars().take(MESSAGE_CHARS_MAX).collect();
        Ok(Self { message, schema: schema.clone(), form })
    }

    /// The question to the caller.
    pub(super) fn event(&self) -> Event {
        let mut keys = self.form.describe();
        let answers = if self.form.is_empty() {
            "accept, decline or cancel"
        } else {
            "decline or cancel, or give the values"
        };
        keys.insert(ELICITATION.to_owned(), format!("{} Answer {answers}.", self.message).into());
        Event::wait_for_form(&keys, &self.message, &self.schema)
    }

    /// The response to the agent; `None` if the answer is neither the values nor a refusal.
    pub(super) fn outcome(&self, answer: &Map<String, Value>) -> Option<Value> {
        let action_text = answer.get(ELICITATION).and_then(Value::as_str).map(str::trim);
        match action_text {
            Some(action @ ("decline" | "cancel")) => Some(json!({"action": action})),
            Some("accept") | None => {
                let mut values = self.form.typed(answer);
                values.remove(ELICITATION);
                let is_given = action_text.is_some() || !self.form.is_empty();
                (is_given && self.form.check(&values).is_ok())
                    .then(|| json!({"action": "accept", "content": values}))
            }
            Some(_) => None,
        }
    }
}

/// The response if nobody can answer.
pub(super) fn cancelled() -> Value {
    json!({"action": "cancel"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(schema: &Value) -> Result<Elicitation, String> {
        Elicitation::new(&json!({"mode": "form", "message": "Who?", "requestedSchema": schema}))
    }

    fn outcome(elicitation: &Elicitation, answer: &Value) -> Value {
        elicitation.outcome(answer.as_object().unwrap()).unwrap_or_default()
    }

    #[test]
    fn values_are_accepted_and_words_decline() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"]});
        let elicitation = parse(&schema).unwrap();
        for (answer, expected) in [
            (json!({"name": "Ida"}), json!({"action": "accept", "content": {"name": "Ida"}})),
            // At a prompt, all values are entered as text.
            (
                json!({"name": "7", "age": "7"}),
                json!({"action": "accept", "content": {"name": "7", "age": 7}}),
            ),
            (json!({"elicitation": "decline"}), json!({"action": "decline"})),
            (json!({"elicitation": " cancel "}), json!({"action": "cancel"})),
            (json!({"elicitation": "no"}), Value::Null),
            (json!({"elicitation": "accept"}), Value::Null),
            (json!({"age": 7}), Value::Null),
            (json!({"name": "Ida", "age": "old"}), Value::Null),
            (json!({}), Value::Null),
        ] {
            assert_eq!(outcome(&elicitation, &answer), expected, "{answer}");
        }
        let members = elicitation.event().members();
        assert_eq!((&members["message"], &members["form"]), (&json!("Who?"), &schema));
        assert_eq!(members["request_keys"].as_object().unwrap().len(), 3);
    }

    #[test]
    fn a_form_without_fields_wants_a_word() {
        let elicitation = parse(&json!({"type": "object", "properties": {}})).unwrap();
        assert_eq!(
            outcome(&elicitation, &json!({"elicitation": "accept"})),
            json!({"action": "accept", "content": {}})
        );
        assert_eq!(outcome(&elicitation, &json!({})), Value::Null);
    }

    #[test]
    fn a_field_named_like_the_word_that_declines_is_refused() {
        let field = json!({"properties": {"elicitation": {"type": "string"}}, "required": ["elicitation"]});
        assert!(parse(&field).is_err());
    }

    #[test]
    fn what_nobody_can_be_asked_for_is_refused() {
        for bad in [
            json!({"mode": "url", "url": "https://x.example"}),
            json!({"message": "Who?"}),
            json!({"requestedSchema": {"properties": {"a": {"type": "object"}}}}),
            json!({"requestedSchema": {"title": "x".repeat(FORM_BYTES_MAX)}}),
        ] {
            assert!(Elicitation::new(&bad).is_err(), "{bad}");
        }
    }
}
