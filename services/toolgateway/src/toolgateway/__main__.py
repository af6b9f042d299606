"""``python -m toolgateway``: run the service."""

from common.service import run
from toolgateway.app import main
from toolgateway.settings import Settings

if __name__ == "__main__":
    settings = Settings()
    run("toolgateway", lambda stop: main(settings, stop), profile=settings.profile)
