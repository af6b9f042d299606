"""What the agent reads from its environment; units are in the names."""

from datetime import date
from typing import Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from agent.core.hours import StaffHours, parse_shifts
from common.settings import BusSettings


class AgentSettings(BaseSettings):
    """Settings with the prefix ``AGENT_``."""

    model_config = SettingsConfigDict(env_prefix="AGENT_", frozen=True, extra="ignore")

    database_url: str
    host: str = "127.0.0.1"
    port: int
    toolgateway_url: str
    gateway_url: str
    # How long a dead worker's run waits for the next one; renewed four times in this span.
    claim_ttl_s: float = Field(4.0, gt=0.2)
    most_runs_at_once: int = 300
    # Models, tools, their retries and the looks for a lost answer together; with less no write would ever have time.
    turn_budget_s: float = Field(60.0, ge=20.0)
    model_calls_per_message: int = 8
    tokens_per_conversation: int = 150_000
    # One try of a tool, and one of what is only looked up: the fixed flow's orders, ledger rows, the tool list.
    tool_timeout_s: float = Field(20.0, gt=0)
    lookup_timeout_s: float = Field(4.0, gt=0)
    # Asked once after two quiet hours whether it was solved, closed after a day; the next message opens it again.
    quiet_ask_after_s: float = 7_200.0
    quiet_close_after_s: float = 86_400.0
    # When people are there to take over, "mon-fri 09:00-18:00, sat 10:00-14:00" in this time zone; empty: always.
    staff_zone: str = "UTC"
    staff_hours: str = ""
    # Days nobody is there, "2026-12-25,2027-01-01".
    staff_holidays: str = ""
    # What a customer usually waits for a person while somebody is there; not told unless set.
    staff_wait_min: int | None = Field(None, ge=1)
    order_id_pattern: str = r"[0-9]{6,12}"
    model_calls_per_minute: int = 3_000
    # Silence inside a stream for this long counts as a failed call, so that failing over takes seconds.
    model_silence_s: float = 10.0
    large_model: str = "claude-sonnet-5-5"
    small_model: str = "claude-haiku-5-5"
    second_large_model: str = "gpt-5.4"
    second_small_model: str = "gpt-5.4-mini"
    # Empty: remote where GUARD_URL is set, else local. "llm": local first, then the small model on what that let pass.
    guard: Literal["", "local", "remote", "llm"] = ""
    # Each text of a turn waits this long at most for the model's verdict; later it is "down".
    guard_model_timeout_s: float = 2.0

    @property
    def staff(self) -> StaffHours:
        """The hours as one value. Raises ValueError when they can't be read."""
        holidays = frozenset(date.fromisoformat(day.strip()) for day in self.staff_holidays.split(",") if day.strip())
        return StaffHours(ZoneInfo(self.staff_zone), parse_shifts(self.staff_hours), holidays, self.staff_wait_min)

    @model_validator(mode="after")
    def _hours_can_be_read(self) -> Self:
        _ = self.staff
        return self


class ProviderSettings(BaseSettings):
    """The providers' own variables, without a prefix (CONTRACT); a provider without a key is left out."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    anthropic_api_key: str = ""
    anthropic_base_url: str = ""
    openai_api_key: str = ""
    openai_base_url: str = ""
    guard_url: str = ""


Part = Literal["fixed", "rag", "loop"]
__all__ = ["AgentSettings", "BusSettings", "Part", "ProviderSettings"]
