"""Who may read the dashboard: what `[auth]` says, and what a provider says of somebody."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app import dashboard, sign_in
from app.readers import Readers, UnusableAuth, Verdict, judged, provider, read_readers

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HERE = {"is_logged_in": True, "iat": NOW.timestamp() - 60}
READERS = Readers(
    frozenset({"example.org"}),
    frozenset({"bob@partner.test"}),
    frozenset({"ml-platform"}),
    Path("secrets.toml"),
)
SECRETS = {
    "redirect_uri": "https://ett.example.org/oauth2callback",
    "cookie_secret": "k" * 64,
    "client_id": "ett",
    "client_secret": "hunter2",
    "server_metadata_url": "https://id.example.org/.well-known/openid-configuration",
}


def confirmed(address: object) -> dict[str, object]:
    return {**HERE, "email": address, "email_verified": True}


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        (confirmed("ann@example.org"), Verdict.WELCOME),
        (confirmed("Ann@EXAMPLE.org"), Verdict.WELCOME),
        (confirmed("bob@partner.test"), Verdict.WELCOME),
        (confirmed("eve@partner.test"), Verdict.STRANGER),
        (confirmed("ann@sub.example.org"), Verdict.STRANGER),
        (confirmed("ann@example.org.evil.test"), Verdict.STRANGER),
        (confirmed("ann@evil.test@example.org"), Verdict.STRANGER),
        (confirmed("ann@\u212aexample.org".replace("\u212a", "e\u0301")), Verdict.STRANGER),
        (confirmed("example.org"), Verdict.STRANGER),
        (confirmed("@example.org "), Verdict.STRANGER),
        (confirmed(["ann@example.org"]), Verdict.STRANGER),
        (confirmed(None), Verdict.STRANGER),
        ({**confirmed("ann@example.org"), "email_verified": False}, Verdict.UNCONFIRMED),
        ({**confirmed("ann@example.org"), "email_verified": "true"}, Verdict.UNCONFIRMED),
        ({**HERE, "email": "ann@example.org"}, Verdict.UNCONFIRMED),
        ({**HERE, "groups": ["staff", "ml-platform"]}, Verdict.WELCOME),
        ({**HERE, "groups": "ml-platform"}, Verdict.WELCOME),
        ({**HERE, "groups": ["ML-platform", 5, None, ["ml-platform"]]}, Verdict.STRANGER),
        ({**HERE, "groups": {"ml-platform": True}}, Verdict.STRANGER),
        (HERE, Verdict.STRANGER),
        ({}, Verdict.UNKNOWN),
        ({**confirmed("ann@example.org"), "is_logged_in": False}, Verdict.UNKNOWN),
        ({**confirmed("ann@example.org"), "is_logged_in": "yes"}, Verdict.UNKNOWN),
        ({**confirmed("ann@example.org"), "iat": NOW.timestamp() - 86_401}, Verdict.EXPIRED),
        ({**confirmed("ann@example.org"), "iat": None}, Verdict.EXPIRED),
        ({**confirmed("ann@example.org"), "iat": float("nan")}, Verdict.EXPIRED),
    ],
)
def test_who_is_on_a_list_with_a_confirmed_address_may_read(
    claims: dict[str, object], verdict: Verdict
) -> None:
    assert verdict is judged(READERS, claims, NOW)


def test_without_auth_in_the_settings_everybody_may_read(tmp_path: Path) -> None:
    (tmp_path / "ett.toml").write_text('timezone = "UTC"')

    assert None is read_readers(tmp_path / "ett.toml")
    assert None is read_readers(tmp_path / "none.toml")


def test_settings_behind_a_link_that_leads_nowhere_let_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "ett.toml").symlink_to("not-mounted/ett.toml")

    with pytest.raises(UnusableAuth, match="is a link that leads nowhere"):
        read_readers(tmp_path / "ett.toml")


def test_lists_and_the_place_of_the_secrets_are_read(tmp_path: Path) -> None:
    text = '[auth]\ndomains = ["Example.org"]\ngroups = ["ML"]\nsecrets = "of/secrets.toml"'
    (tmp_path / "ett.toml").write_text(text)

    assert Readers(
        frozenset({"example.org"}), frozenset(), frozenset({"ML"}), tmp_path / "of/secrets.toml"
    ) == read_readers(tmp_path / "ett.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("auth", "cannot be read: it is no TOML in UTF-8"),
        ("[auth]\n\ndomains = [a.b]", "it is no TOML in UTF-8 (at line 3, column 12)."),
        ("auth = true", "auth must be a table"),
        ("[auth]", "[auth] lets nobody in"),
        ("[auth]\ndomains = []", "[auth] lets nobody in"),
        ("[auth]\ndomains = 'example.org'", "auth.domains must be a list of texts"),
        ("[auth]\ngroups = ['']", "auth.groups must be a list of texts"),
        ("[auth]\ndomains = ['*']", "auth.domains: '*' must be such as example.org"),
        ("[auth]\ndomains = ['@example.org']", "must be such as example.org"),
        ("[auth]\ndomains = ['*.example.org']", "'*.example.org' must be such as example.org"),
        ("[auth]\ndomains = [' example.org']", "' example.org' must be such as example.org"),
        ("[auth]\naddresses = ['ann']", "auth.addresses: 'ann' must be such as"),
        ("[auth]\naddresses = ['ann@example.org ']", "must be such as ann@example.org"),
        ("[auth]\naddresses = ['*@example.org']", "must be such as ann@example.org"),
        ("[auth]\ndomain = ['example.org']", "auth.domain is no setting. Known: domains"),
        ("[auth]\ngroups = ['a']\nsecrets = 5", "auth.secrets must name"),
        ("[Auth]\ngroups = ['a']", "'Auth' is no setting. Known: ['alerts', 'auth', "),
    ],
)
def test_a_list_that_cannot_be_read_lets_nobody_in(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "ett.toml"
    path.write_text(text)
    with pytest.raises(UnusableAuth) as refusal:
        read_readers(path)

    assert said in str(refusal.value)
    assert str(refusal.value).startswith(str(path))


def test_a_provider_is_read_with_all_that_streamlit_needs(tmp_path: Path) -> None:
    assert SECRETS == provider(secrets(tmp_path))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        *(({name: None}, f"auth.{name} is missing") for name in SECRETS),
        ({"client_id": 5}, "auth.client_id is missing, or no text"),
        ({"redirect_uri": "https://ett.example.org/"}, "must end with /oauth2callback"),
        ({"redirect_uri": "https://ett.example.org:x/oauth2callback"}, "is no address"),
        ({"redirect_uri": "http://ett.example.org/oauth2callback"}, "must begin with https://"),
        ({"server_metadata_url": "http://id.example.org/"}, "server_metadata_url must begin with"),
        ({"cookie_secret": "hunter2"}, "auth.cookie_secret is shorter than 32 characters"),
    ],
)
def test_a_provider_with_whom_nobody_signs_in_safely_is_refused_without_a_secret(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    with pytest.raises(UnusableAuth) as refusal:
        provider(secrets(tmp_path, **changed))

    assert said in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_secrets_that_are_no_toml_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secrets.toml").write_text("[auth]\nclient_secret = hunter2")
    with pytest.raises(UnusableAuth) as refusal:
        provider(tmp_path / "secrets.toml")

    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("spoilt", ["ett.toml", "secrets.toml"])
def test_the_dashboard_does_not_start_open_where_its_lists_cannot_be_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spoilt: str,
) -> None:
    secrets(tmp_path)
    (tmp_path / "ett.toml").write_text('[auth]\ngroups = ["a"]')
    (tmp_path / spoilt).unlink()
    monkeypatch.setenv("ETT_CONFIG", str(tmp_path / "ett.toml"))
    with pytest.raises(SystemExit) as ended:
        dashboard.main([])

    assert 2 == ended.value.code
    assert str(tmp_path / spoilt) in capsys.readouterr().err


def test_the_server_is_told_the_address_that_readers_use(tmp_path: Path) -> None:
    readers = Readers(frozenset(), frozenset(), frozenset({"a"}), secrets(tmp_path))

    assert [
        f"--secrets.files={tmp_path / 'secrets.toml'}",
        "--browser.serverAddress=ett.example.org",
        "--browser.serverPort=443",
    ] == dashboard.signing_in(readers, 8501)


def test_settings_that_vanish_while_the_server_runs_open_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ett.toml"
    path.write_text('[auth]\ngroups = ["a"]')
    monkeypatch.setenv("ETT_CONFIG", str(path))
    before = sign_in.readers()
    path.unlink()

    assert before is not None
    assert before == sign_in.readers()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_a_dashboard_that_anyone_may_read_says_so_where_others_can_reach_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    monkeypatch.setattr("os.execve", lambda *_: None)
    monkeypatch.setattr("os.chdir", lambda _: None)
    monkeypatch.setattr("app.ports.why_not", lambda *_: None)
    dashboard.main(["--host", host])
    warned = capsys.readouterr().err
    dashboard.main([])

    assert f"whoever reaches {host} may read it" in warned
    assert "may read it" not in capsys.readouterr().err


def secrets(folder: Path, **changed: object) -> Path:
    told = {name: value for name, value in {**SECRETS, **changed}.items() if value is not None}
    lines = [f"{name} = {value!r}" for name, value in told.items()]
    path = folder / "secrets.toml"
    path.write_text("\n".join(["[auth]", *lines]))
    return path


def test_who_signs_out_is_asked_to_sign_in_only_when_the_browser_has_forgotten_them() -> None:
    def page() -> None:
        from app import sign_in
        from app.readers import Verdict

        sign_in.door(Verdict.UNKNOWN)

    leaving = AppTest.from_function(page)
    leaving.session_state["is_signing_out"] = True
    leaving.run()
    gone = AppTest.from_function(page).run()

    assert ("Signing out", []) == (leaving.title[0].value, list(leaving.button))
    assert ("Sign in", ["Sign in"]) == (gone.title[0].value, [one.label for one in gone.button])
