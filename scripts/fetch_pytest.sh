#!/bin/sh
# Fetches pytest into .pytest/ of the repository, from the pinned wheels that scripts/pytest.txt lists.
exec sh "$(dirname "$0")/fetch_wheels.sh" scripts/pytest.txt .pytest
