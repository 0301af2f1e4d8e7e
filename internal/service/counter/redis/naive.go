package redis

import "context"

func (c *Counter) transact(ctx context.Context, n int64) (Change, error) { return c.script(ctx, n) }

func (c *Counter) overwrite(ctx context.Context, n int64) (Change, error) { return c.script(ctx, n) }
