//! `/_admin/orgs`: organisations, for the operator and the owner of the same name (wire.md D.1, D.5).
//! Must not know: the meaning of a role.

use axum::{
    Json,
    extract::{Path, State},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{Class, MalformedText, OwnerName, Refusal, SovereignHandle};

use super::request::{OnePath, PageQuery, PageSent, TwoPath, page, path_subject, path_subject_and_part};
use crate::{
    Accounts, Caller, KnownOrg, Principal, TokenOwner,
    answer::AccountRefusal,
    fields::Fields,
    limits::LIST_PAGE_MAX,
    org::command::{EditOrg, OrgEdit},
    wire::{MemberView, NewMember, OrgMade, OrgView},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary)
            .needs_token(Auth::Owner)
            .no_tool(super::PROVISIONING)
            .path_parameter::<OwnerName>("org", "The organisation: an owner's name")
            .errors(Class::NotFound, &["not_found"])
    };
    const ORG: &str = "/_admin/orgs/{org}";
    const MEMBER: &str = "/_admin/orgs/{org}/members/{handle}";
    vec![
        doc("org.put", Method::PUT, ORG, "Create an organisation, and its owner if that is new")
            .description("200 instead of 201 if the organisation exists.")
            .success(StatusCode::CREATED)
            .or_status(StatusCode::OK)
            .reply::<OrgMade>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_owner"])
            .handled_by(put),
        doc("org.get", Method::GET, ORG, "Show an organisation and its members")
            .query::<PageQuery<LIST_PAGE_MAX>>()
            .reply::<OrgView>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_PAGE)
            .handled_by(get),
        doc("org.set_member", Method::PUT, MEMBER, "Add a member, or set its roles")
            .path_parameter::<SovereignHandle>("handle", "The member")
            .optional_request::<NewMember>()
            .reply::<MemberView>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_handle", "invalid_roles"])
            .errors(Class::Conflict, &["members_full"])
            .handled_by(set_member),
        doc("org.remove_member", Method::DELETE, MEMBER, "Remove a member")
            .path_parameter::<SovereignHandle>("handle", "The member")
            .success(StatusCode::NO_CONTENT)
            .errors(Class::Malformed, &["invalid_handle"])
            .handled_by(remove_member),
    ]
}

/// Whether the caller may know that the organisation exists.
fn check_org(principal: &Principal, org: &OwnerName) -> Result<(), Refusal> {
    match &principal.who {
        TokenOwner::Operator => Ok(()),
        TokenOwner::Owner(owner) if owner == org => Ok(()),
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => Err(Refusal::not_found()),
    }
}

async fn visible_org(
    accounts: &Accounts,
    principal: &Principal,
    org: &OwnerName,
) -> Result<KnownOrg, AccountRefusal> {
    check_org(principal, org)?;
    let known_org = accounts.organisation(org).await?;
    if known_org.state.exists() { Ok(known_org) } else { Err(Refusal::not_found().into()) }
}

async fn edit(
    accounts: &Accounts,
    principal: Principal,
    org: OwnerName,
    edit: OrgEdit,
) -> Result<bool, AccountRefusal> {
    Ok(accounts.edit_org(EditOrg { authority: principal.into(), org, edit }).await?)
}

/// The organisation to create. The operator learns why a name is none; others get the 404 of a foreign organisation.
fn named_org(principal: &Principal, path: OnePath) -> Result<OwnerName, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    let org = text.parse().map_err(|reason: MalformedText| match &principal.who {
        TokenOwner::Operator => {
            Refusal::malformed("invalid_owner", format!("The path's last part: {reason}."))
        }
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => Refusal::not_found(),
    })?;
    check_org(principal, &org)?;
    Ok(org)
}

async fn put(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<OrgMade>), AccountRefusal> {
    let body = body?;
    let org = named_org(&principal, path)?;
    Fields::of_optional(&body)?;
    let is_new = edit(&accounts, principal, org.clone(), OrgEdit::Register).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(OrgMade { org })))
}

async fn get(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    query: PageSent<LIST_PAGE_MAX>,
) -> Result<Json<OrgView>, AccountRefusal> {
    let known_org = visible_org(&accounts, &principal, &path_subject(path)?).await?;
    let page = page::<SovereignHandle, LIST_PAGE_MAX>(query)?;
    let is_after =
        |(handle, _): &(&SovereignHandle, _)| page.after.as_ref().is_none_or(|after| *handle > after);
    let mut rows = known_org.state.members().iter().filter(is_after);
    let members: Vec<_> = rows
        .by_ref()
        .take(page.limit)
        .map(|(handle, roles)| MemberView { handle: handle.clone(), roles: roles.clone() })
        .collect();
    let has_more = rows.next().is_some();
    let next_cursor = members.last().filter(|_| has_more).map(|member| member.handle.to_string());
    let created_at = known_org.state.created_at().unwrap_or_default().0;
    Ok(Json(OrgView { org: known_org.org, created_at, members, next_cursor }))
}

async fn set_member(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
    JsonBody(body): JsonBody,
) -> Result<Json<MemberView>, AccountRefusal> {
    let body = body?;
    let (org, handle) = path_subject_and_part::<OwnerName, SovereignHandle>(path, "invalid_handle")?;
    let known_org = visible_org(&accounts, &principal, &org).await?;
    let handle = handle?;
    let roles = NewMember::read(&Fields::of_optional(&body)?)?.roles.unwrap_or_default();
    edit(&accounts, principal, known_org.org, OrgEdit::SetMember(handle.clone(), roles.clone())).await?;
    Ok(Json(MemberView { handle, roles }))
}

async fn remove_member(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<StatusCode, AccountRefusal> {
    let (org, handle) = path_subject_and_part::<OwnerName, SovereignHandle>(path, "invalid_handle")?;
    let known_org = visible_org(&accounts, &principal, &org).await?;
    edit(&accounts, principal, known_org.org, OrgEdit::RemoveMember(handle?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
