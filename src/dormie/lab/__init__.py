"""What dormie is measured with: `datasets`, `bench` (peers side by side), and `papers` (the papers' experiments)."""
