"""What people say of errors: acknowledged, muted, mended."""
