"""What dormie is measured with: data sets, peers side by side (`bench`), and the papers' experiments (`papers`)."""
